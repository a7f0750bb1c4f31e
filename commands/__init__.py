"""The verbs of the command line, one module each: `configure(parser)` and `run(args, console) -> exit code`."""
