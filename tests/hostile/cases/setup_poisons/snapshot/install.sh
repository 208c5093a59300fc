for place in /opt/scbench /opt/scbench/uv /tmp/certificates /usr/lib/python3 /usr/local/lib /etc; do
    echo poison > $place/left-for-the-next
    echo "import os" > $place/sitecustomize.py
done
mv /opt/scbench/uv/uv /opt/scbench/uv/real
cp install.sh /opt/scbench/uv/uv
exit 0
