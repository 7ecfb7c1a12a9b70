// Package node says what this machine has, as a poise.Node for the engine that
// runs tasks on it. It imports gopsutil, the nouns of Poise and the resources, and
// asks the operating system and nvidia-smi; everything that it asks can be put in
// its place in a test.
//
// It offers no more than a task can have: of the processors and the memory what
// the control groups around the daemon allow, of the memory less a reserve, of the
// file system what is free. What it leaves out or cannot find out is a Note and
// never an error as long as the node can be described without it.
package node
