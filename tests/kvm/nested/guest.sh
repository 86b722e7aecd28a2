#!/bin/sh
# Runs in a guest of tests/kvm/nested.sh. Executes the commands that arrive on the console, each on
# a line with its number and its time limit in seconds, and reports the number and the exit status.
stty -echo
echo 'guest: ready'
# The host can tell from these lines whether the guest's CPUs still run.
while sleep 2; do echo 'guest: alive'; done &
while read -r number limit command; do
    timeout "$limit" sh -c "$command" </dev/null
    echo "guest: $number exited with $?"
done
