#!/bin/sh
# Declares the VIP that ofload's arp and syn payloads ask for, with the ten
# emulated hosts as backends.
#
# usage: evenflow.sh http://HOST:PORT
set -eu
backends=$(for i in 1 2 3 4 5 6 7 8 9 10; do printf '{"name":"b%d","address":"10.0.0.%d","port":8080},' $i $i; done)
curl --noproxy '*' -fsS -H 'Content-Type: application/json' "$1/api/v1/vips" -d '{
  "name": "bench", "address": "10.99.0.1", "protocol": "tcp", "port": 80, "mode": "nat",
  "backends": ['"${backends%,}"']
}'
