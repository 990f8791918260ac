"""Tests of the Python driver; run them with `python3 -m unittest discover -s tests -t .` in the folder above."""
