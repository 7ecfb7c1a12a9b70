package local

import (
	"errors"
	"os"
	"strconv"
	"syscall"
	"unsafe"
)

// prSetChildSubreaper is PR_SET_CHILD_SUBREAPER of prctl(2).
const prSetChildSubreaper = 36

// idAll and flags of waitid(2).
const (
	idAll   = 0
	wExited = 4
	wNoWait = 0x1000000
)

// adoptOrphans makes this process the parent of orphans below it, so that no
// process of the task gets out of its sight.
func adoptOrphans() error {
	if _, _, e := syscall.RawSyscall6(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0, 0, 0, 0); e != 0 {
		return e
	}
	return nil
}

// peekExit waits until a child has ended and gives its pid, without taking it
// away: while it is there, neither its pid nor its group's can be reused. It
// gives ECHILD when there are no children.
func peekExit() (int, error) {
	// The pid stands behind three int32 and what aligns the union behind them.
	var info [128 / 8]uint64
	for {
		_, _, e := syscall.Syscall6(syscall.SYS_WAITID, idAll, 0, uintptr(unsafe.Pointer(&info)), wExited|wNoWait, 0, 0)
		if e == syscall.EINTR {
			continue
		}
		if e != 0 {
			return 0, e
		}
		offset := 12
		if unsafe.Sizeof(uintptr(0)) == 8 {
			offset = 16
		}
		return int(*(*int32)(unsafe.Add(unsafe.Pointer(&info), offset))), nil
	}
}

// reap takes an ended child away.
func reap(pid int) (syscall.WaitStatus, error) {
	var ws syscall.WaitStatus
	for {
		_, err := syscall.Wait4(pid, &ws, 0, nil)
		if err != syscall.EINTR {
			return ws, err
		}
	}
}

// spawn starts a command in a process group of its own, in a cgroup where
// there is one. The kernel kills it when the calling thread ends, which must
// therefore live as long as the shim.
func spawn(program string, argv, env []string, dir string, files []*os.File, cgroup *os.File, uid uint32) (int, error) {
	attr := &syscall.ProcAttr{Dir: dir, Env: env, Sys: &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}}
	for _, f := range files {
		attr.Files = append(attr.Files, f.Fd())
	}
	if cgroup != nil {
		attr.Sys.UseCgroupFD, attr.Sys.CgroupFD = true, int(cgroup.Fd())
	}
	if uid != 0 {
		attr.Sys.Credential = &syscall.Credential{Uid: uid, Gid: uid} // and no other groups
	}
	return syscall.ForkExec(program, argv, attr)
}

// detached starts the shim in a session of its own, which no terminal and no
// signal to the daemon's group reaches.
func detached() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

func killGroup(group int, sig syscall.Signal) { _ = syscall.Kill(-group, sig) } // gone is as good

func makeFifo(path string) error { return syscall.Mkfifo(path, 0o600) }

// openAlive opens a task's fifo for reading and says whether it has a writer.
func openAlive(path string) (f *os.File, alive bool, err error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, false, &os.PathError{Op: "open", Path: path, Err: err}
	}
	var b [16]byte
	n, err := syscall.Read(fd, b[:])
	return os.NewFile(uintptr(fd), path), n > 0 || errors.Is(err, syscall.EAGAIN), nil
}

// inherited gives the shim's end of its fifo, which it got from the daemon, or
// nil where it was started by someone else. No task inherits it, nor what the
// daemon itself may have been started with.
func inherited() *os.File {
	const fd = 3
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil || st.Mode&syscall.S_IFMT != syscall.S_IFIFO {
		return nil
	}
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n >= fd {
			syscall.CloseOnExec(n)
		}
	}
	return os.NewFile(fd, aliveFifo)
}

// lock takes a lock file for as long as it is open; false where another
// process has it.
func lock(path string) (*os.File, bool, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		return f, true, nil
	}
	_ = f.Close() // nothing was written
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return nil, false, nil
	}
	return nil, false, err
}

// intoGroup starts a process in the cgroup whose folder is open.
func intoGroup(dir *os.File) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(dir.Fd())}
}
