package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/poise-sched/poise/host/poise"
)

// maxSnapshot bounds a snapshot file that is taken in, in bytes.
const maxSnapshot = 2 << 30

// Snapshot gives the snapshot file of the state behind an event, 0 = the last one.
func (c *Client) Snapshot(ctx context.Context, index uint64) ([]byte, error) {
	at := ""
	if index > 0 {
		at = strconv.FormatUint(index, 10)
	}
	answer, err := c.send(ctx, call{method: http.MethodGet, path: "/v1/snapshot", query: params("index", at)})
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	file, err := io.ReadAll(io.LimitReader(answer.Body, maxSnapshot+1))
	if err == nil && len(file) > maxSnapshot {
		err = fmt.Errorf("more than %d bytes", maxSnapshot)
	}
	if err != nil {
		return nil, &poise.Error{Kind: poise.Unavailable, Op: "read the snapshot of the daemon", Err: err}
	}
	return file, nil
}
