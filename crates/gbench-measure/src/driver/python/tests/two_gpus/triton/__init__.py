"""A stand-in for triton."""
