//go:build !linux

package api

import "net"

func peerOf(*net.UnixConn) peer { return peer{} }
