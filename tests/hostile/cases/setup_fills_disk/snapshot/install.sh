cat /dev/zero > .venv/fill
cat /dev/zero > /tmp/fill
cat /dev/zero > /workspace/fill
exit 0
