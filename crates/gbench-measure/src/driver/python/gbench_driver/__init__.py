"""The Python driver of gbench-ci: imports a user's unedited benchmark module, measures it, and says what happened.

It is started by the gate and writes events, one JSON object a line, to a channel of its own (docs/protocol.md). It needs the
standard library alone, and Python 3.8 or later. The way through it: `main` reads the request and goes through the cases,
`case_run` leads one case through its stages, and one module for each way of calling (`class_way`, `function_way`,
`self_timed_way`, `sweep_way`) says what the stages do.
"""
