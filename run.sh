# usage: run.sh hub-binary rounds [perfout]
cd /tmp/h; rm -rf state; export DURWARD_STATE_DIR=/tmp/h/state LOG_LEVEL=ERROR
$1 hub --port 0 --config servers.json --sandbox-dir work >out 2>err & P=$!
for i in $(seq 100); do A=$(grep -oE '127.0.0.1:[0-9]+' out err 2>/dev/null | head -1 | sed 's/.*127/127/'); [ -n "$A" ] && break; sleep .05; done
echo addr $A pid $P
H=$P
cputime() { awk '{print $14*10000, $15*10000}' /proc/$H/stat; }
(echo 1 500; sleep .1) | ./mcpfloor drive http http://$A/mcp s0__echo >/dev/null
c0=$(cputime)
if [ -n "$3" ]; then perf record -F 15000 -g -p $H -o $3 -- sleep 100 >/dev/null 2>&1 & PP=$!; sleep .3; fi
echo 1 $2 | ./mcpfloor drive http http://$A/mcp s0__echo | tr ' ' '\n' | grep . | sed '$d' | sort -n | awk -v n=$2 'NR==int(n/2){print "p50 us",$1/1000}'
[ -n "$PP" ] && kill -INT $PP && wait $PP
c1=$(cputime); echo $c0 $c1 | awk -v n=$2 '{print "hub cpu us/call user",($3-$1)/n," sys",($4-$2)/n}'
kill $P; wait $P 2>/dev/null
