"""A small bookkeeping tool that works on plain-text journals."""
