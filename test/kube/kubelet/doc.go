// Package kubelet stands in for the machines of a test cluster: for each of its
// nodes it registers, sends heartbeats, takes pods that are bound there from
// Pending to Running to Succeeded or Failed, honours deletion with grace, and
// serves logs to the API server. It may import client-go and component-helpers.
// No container runs: a pod does what its annotations say, by the names in
// script.go. Like a real kubelet it refuses a pod for which the node has no
// room, so that two schedulers that disagree show as a pod that failed, and
// takes over what it finds when it starts.
package kubelet
