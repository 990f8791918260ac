#!/usr/bin/env bash
# with_slurm.sh COMMAND...: runs a command next to a Slurm of one machine that nothing else sees. It lives in network, mount and
# process namespaces of its own: with the command, all of it ends. Needs root, and Debian's slurm-wlm and munge.
set -euo pipefail

if [[ ${1-} != --inside ]]; then
    exec unshare --net --mount --pid --fork --mount-proc --kill-child "$0" --inside "$@"
fi
shift

root=$(mktemp --directory)
trap 'rm -rf "$root"' EXIT
ip link set lo up
# Names are resolved only where there is an address besides 127.0.0.1.
ip addr add 10.255.0.1/32 dev lo
mkdir -p "$root"/{state,spool,log,run}
host=$(hostname -s)
head --bytes 1024 /dev/urandom > "$root/munge.key"
chmod 400 "$root/munge.key"
cat > "$root/slurm.conf" << CONF
ClusterName=gate
SlurmctldHost=$host(10.255.0.1)
SlurmctldPort=26817
SlurmdPort=26818
AuthType=auth/munge
AuthInfo=socket=$root/run/munge.socket
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$root/state
SlurmdSpoolDir=$root/spool
SlurmctldPidFile=$root/run/slurmctld.pid
SlurmdPidFile=$root/run/slurmd.pid
SlurmctldLogFile=$root/log/slurmctld.log
SlurmdLogFile=$root/log/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=batch_sched_delay=0,sched_interval=1
ReturnToService=2
KillWait=2
GresTypes=gpu
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
NodeName=$host NodeAddr=10.255.0.1 CPUs=2 RealMemory=1000 Gres=gpu:1 State=UNKNOWN
PartitionName=gpu Nodes=$host Default=YES MaxTime=60 State=UP
CONF
echo 'Name=gpu File=/dev/null' > "$root/gres.conf"
export SLURM_CONF=$root/slurm.conf
munged --force --key-file="$root/munge.key" --socket="$root/run/munge.socket" --pid-file="$root/run/munged.pid" \
    --log-file="$root/log/munged.log" --seed-file="$root/run/munged.seed"
slurmctld -c -i
slurmd
for _ in {1..100}; do
    [[ $(sinfo --noheader --format=%t 2> /dev/null) == idle ]] && break
    sleep 0.1
done
"$@"
