(setsid sleep 600 >/dev/null 2>&1 &)
(trap "" TERM HUP INT; setsid sh -c "while :; do sleep 1; done" >/dev/null 2>&1 &)
kill -9 -1
