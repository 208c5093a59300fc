mkdir -p /tmp/home/record
ln -s /tmp/home/record .venv/.scbench
