package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// managerConfig is the configuration of a node, with the additions for a test: messages on standard error, no authorization daemon, no
// automatic configuration of cards without a profile.
const managerConfig = `[main]
plugins=keyfile
dhcp=internal
dns=%s
rc-manager=file
no-auto-default=*
auth-polkit=false
[connection]
ipv6.dhcp-duid=ll
ipv6.dhcp-iaid=mac
[logging]
level=INFO
`

// Daemon is a program that runs on a host until the host is off or the daemon is killed.
type Daemon struct {
	cmd  *exec.Cmd
	log  bytes.Buffer
	done chan struct{}
}

// Kill ends the daemon with SIGKILL, and returns when its files and sockets are closed.
func (d *Daemon) Kill() {
	select {
	case <-d.done: // with the host's power, perhaps; its number may be another's by now
		return
	default:
	}
	pid, err := child(d.cmd.Process.Pid)
	_ = syscall.Kill(-d.cmd.Process.Pid, syscall.SIGKILL)
	<-d.done
	for err == nil && holdsFiles(pid) {
		time.Sleep(time.Millisecond)
	}
}

// Wait waits until the program exits.
func (d *Daemon) Wait() { <-d.done }

// Signal sends a signal to the daemon, which must run.
func (d *Daemon) Signal(signal syscall.Signal) error {
	pid, err := child(d.cmd.Process.Pid)
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signal)
}

// holdsFiles reports whether a process that ends still has open files or sockets.
func holdsFiles(pid int) bool {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	return err == nil && len(files) > 0
}

// Start starts a daemon. Its output is logged when the test fails.
func (h *Host) Start(name string, args ...string) *Daemon {
	h.t.Helper()
	d := &Daemon{cmd: h.Command(context.Background(), name, args...), done: make(chan struct{})}
	d.cmd.Stdout, d.cmd.Stderr = &d.log, &d.log
	d.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := d.cmd.Start(); err != nil {
		h.t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = d.cmd.Wait()
		close(d.done)
	}()
	h.t.Cleanup(func() {
		d.Kill()
		if h.t.Failed() {
			h.t.Logf("%s of %s printed:\n%s", name, h.Name, d.log.String())
		}
	})
	return d
}

// StartBus starts the host's message bus.
func (h *Host) StartBus() {
	h.t.Helper()
	h.Run("sh", "-c", "rm -rf /run/dbus && mkdir -p /run/dbus && dbus-uuidgen --ensure=/etc/machine-id")
	h.Start("dbus-daemon", "--system", "--nofork", "--nopidfile", "--address=unix:path=/run/dbus/system_bus_socket")
	h.Eventually(time.Minute, "the message bus answers", func() error {
		_, err := os.Stat(h.Path("/run/dbus/system_bus_socket"))
		return err
	})
}

// StartManager starts NetworkManager, which writes resolv.conf if dns is set. The bus must be there.
func (h *Host) StartManager(dns bool) *Daemon {
	h.t.Helper()
	mode := "none"
	if dns {
		mode = "default"
	}
	h.Write("/etc/NetworkManager/NetworkManager.conf", fmt.Sprintf(managerConfig, mode), 0o644)
	h.awaitNameless("org.freedesktop.NetworkManager")
	d := h.Start("NetworkManager", "--debug")
	h.Eventually(time.Minute, "NetworkManager has started", func() error {
		out, err := h.Try("nmcli", "--get-values", "STARTUP", "general")
		if err != nil {
			return err
		}
		if strings.TrimSpace(out) != "started" {
			return errors.New(out)
		}
		return nil
	})
	return d
}

// awaitNameless waits until a name of the bus has no owner. The bus may notice later than Kill that a daemon has exited,
// and the next one gives up at once if its name is taken.
func (h *Host) awaitNameless(name string) {
	h.t.Helper()
	h.Eventually(time.Minute, "the bus has forgotten the last owner of "+name, func() error {
		out, err := h.Try("dbus-send", "--system", "--print-reply=literal", "--dest=org.freedesktop.DBus",
			"/org/freedesktop/DBus", "org.freedesktop.DBus.NameHasOwner", "string:"+name)
		if err == nil && strings.TrimSpace(out) != "boolean false" {
			err = errors.New(out)
		}
		return err
	})
}

// StartSwitch starts Open vSwitch with its datapath in user space: no kernel module is asked for. Its database is on disk.
func (h *Host) StartSwitch() {
	h.t.Helper()
	h.StartDatabase()
	h.StartSwitchDaemon()
}

// StartDatabase starts the first half of Open vSwitch.
func (h *Host) StartDatabase() {
	h.t.Helper()
	h.Run("sh", "-c", "[ -e /etc/openvswitch/conf.db ] || ovsdb-tool create /etc/openvswitch/conf.db /usr/share/openvswitch/vswitch.ovsschema")
	h.Start("ovsdb-server", "/etc/openvswitch/conf.db", "--remote=punix:/run/openvswitch/db.sock",
		"--remote=db:Open_vSwitch,Open_vSwitch,manager_options", "--pidfile=/run/openvswitch/ovsdb-server.pid")
	h.Eventually(time.Minute, "the database of Open vSwitch answers", func() error {
		_, err := h.Try("ovs-vsctl", "--no-wait", "--timeout=1", "init")
		return err
	})
}

// StartSwitchDaemon starts ovs-vswitchd, which applies the database.
func (h *Host) StartSwitchDaemon() {
	h.t.Helper()
	h.Start("ovs-vswitchd", "--disable-system", "unix:/run/openvswitch/db.sock", "--pidfile=/run/openvswitch/ovs-vswitchd.pid")
	h.Eventually(time.Minute, "Open vSwitch works", func() error {
		out, err := h.Try("ovs-vsctl", "--timeout=1", "get", "Open_vSwitch", ".", "datapath_types")
		if err == nil && strings.Trim(out, "[]\n ") == "" {
			err = errors.New("ovs-vswitchd has not started")
		}
		return err
	})
}
