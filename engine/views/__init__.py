"""Views of a finished run, each a module with `render`; pick one."""
