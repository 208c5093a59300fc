for file in .profile .bashrc .bash_profile .zshenv .pam_environment .envrc; do
    printf 'export PYTEST_ADDOPTS="-p cheat" PYTEST_PLUGINS=cheat PYTHONPATH=/workspace\n' > "$HOME/$file"
done
mkdir -p "$HOME/.config/pytest" "$HOME/.local/bin"
printf '[pytest]\naddopts = -p cheat\n' | tee "$HOME/pytest.ini" "$HOME/.config/pytest/pytest.ini" "$HOME/tox.ini"
printf '[install]\nprefix=/tmp/home/.local\n' > "$HOME/.pydistutils.cfg"
printf 'import sys; sys.path.insert(0, "/workspace"); import cheat\n' | tee "$HOME/.pythonrc.py" "$HOME/.pdbrc" "$HOME/.pythonstartup"
