truncate -s 100G .venv/blob
