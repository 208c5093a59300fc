mkdir -p .venv/.scbench
ln -sf /nowhere/complete .venv/.scbench/complete
ln -sf /nowhere/workspace.tar .venv/.scbench/workspace.tar
