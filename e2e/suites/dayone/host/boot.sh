# The first process of a host, in new namespaces. $1 is the packages' root file system, $2 the host's disk, $3 its name.
set -eu
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$1,upperdir=$2/upper,workdir=$2/work" "$2/root"
cd "$2/root"
mount -t tmpfs -o mode=755 tmpfs run
mount -t proc proc proc
# NetworkManager asks udev about devices only where sysfs can be written.
mount -t sysfs -o ro sysfs sys
mount --rbind /dev dev
pivot_root . mnt
umount -l /mnt
hostname "$3"
mkdir -p /run/dbus /run/openvswitch /run/NetworkManager /var/lib/NetworkManager /etc/openvswitch /tmp
ip link set lo up
# The fourth argument and those after it are kernel settings, as paths below /proc/sys with their value.
shift 3
for setting; do echo "${setting#*=}" > "/proc/sys/${setting%%=*}"; done
echo up > /run/booted
while :; do sleep 3600; done
