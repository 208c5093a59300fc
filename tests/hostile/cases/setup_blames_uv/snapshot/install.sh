echo "FileNotFoundError: [Errno 2] No such file or directory: 'uv'"
echo "Exec format error"
exit 1
