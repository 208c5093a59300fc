mkdir -p .venv/locked
touch .venv/secret locked
chmod 000 .venv/secret .venv/locked locked
