rm -rf folder file
echo now a file > folder
mkdir file
echo now a folder > file/inner
