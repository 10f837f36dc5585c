#!/usr/bin/env bash
# Installs the Debian packages that tests of kernel code and of pages in a browser need; without root, it prints the missing ones. It also
# unpacks nmcli and promtool without installing them.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
install_missing() {
  missing=()
  for p in iproute2 iptables nftables iputils-ping conntrack ethtool dnsmasq-base openvswitch-switch ovn-central ovn-host libcharon-extra-plugins libstrongswan-standard-plugins strongswan-charon strongswan-libcharon strongswan-swanctl chromium; do
    dpkg -s "$p" >/dev/null 2>&1 || missing+=("$p")
  done
  [ ${#missing[@]} -eq 0 ] && return
  [ "$(id -u)" -eq 0 ] || { echo "missing Debian packages: ${missing[*]}; install them, or run this as root" >&2; exit 1; }
  echo "installing ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  # Packages must not start daemons on this machine: tests start their own, in namespaces.
  if [ ! -e /usr/sbin/policy-rc.d ]; then
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
  fi
  apt-get update -qq && apt-get install -qq -y --no-install-recommends "${missing[@]}" >/dev/null
}
install_missing
"$here/networkmanager.sh" >/dev/null
"$here/promtool.sh" >/dev/null
