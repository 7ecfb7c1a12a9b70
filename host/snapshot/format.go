package snapshot

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/poise-sched/poise/host/poise"
)

// A file is a header, a gzip stream, and the SHA-256 of both. All numbers are
// little-endian.
//
//	8 bytes  magic
//	u32      version of the format
//	u32      0
//	u64      bytes of the gzip stream
//	u64      bytes of what is compressed in it
//
// What is compressed is a list of parts: u32 length of the name, the name, u64
// length of the body, the body.
const (
	magic   = "\x89POISE\r\n" // a transfer as text, or one of 7 bits, breaks it
	version = 1

	headerBytes = 32
	sumBytes    = sha256.Size
)

// Bounds of what is read and written, in bytes.
const (
	maxBody = 2 << 30 // of the parts, not compressed
	maxName = 128
)

// part is one named piece of a file.
type part struct {
	name string
	body []byte
}

// seal gives the bytes of a file.
func seal(parts []part) ([]byte, error) {
	size := 0
	for i := range parts {
		size += 12 + len(parts[i].name) + len(parts[i].body)
	}
	if size > maxBody {
		return nil, &poise.Error{Kind: poise.Limit, Op: "write snapshot", Detail: fmt.Sprintf("size: %d bytes, expected at most %d", size, maxBody)}
	}
	var b bytes.Buffer
	b.Write(make([]byte, headerBytes))
	z := gzip.NewWriter(&b) // without a time or a name
	for i := range parts {
		head := binary.LittleEndian.AppendUint32(nil, uint32(len(parts[i].name)))
		head = append(head, parts[i].name...)
		head = binary.LittleEndian.AppendUint64(head, uint64(len(parts[i].body)))
		for _, piece := range [][]byte{head, parts[i].body} {
			if _, err := z.Write(piece); err != nil {
				return nil, err
			}
		}
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	h := b.Bytes()[:0]
	h = append(h, magic...)
	h = binary.LittleEndian.AppendUint32(h, version)
	h = binary.LittleEndian.AppendUint32(h, 0)
	h = binary.LittleEndian.AppendUint64(h, uint64(b.Len()-headerBytes))
	binary.LittleEndian.AppendUint64(h, uint64(size))
	sum := sha256.Sum256(b.Bytes())
	b.Write(sum[:])
	return b.Bytes(), nil
}

// open gives the parts of a file whose checksum is right.
func open(file []byte) ([]part, error) {
	if len(file) < len(magic) || string(file[:len(magic)]) != magic {
		return nil, refuse("magic: not that of a snapshot file, expected what poise snapshot save wrote")
	}
	if len(file) < headerBytes+sumBytes {
		return nil, refuse("size: %d bytes, expected %d at least: it is cut off", len(file), headerBytes+sumBytes)
	}
	le := binary.LittleEndian
	if v := le.Uint32(file[8:]); v != version {
		return nil, refuse("format version: %d, expected %d, which this version of poise reads", v, version)
	}
	packed, size := le.Uint64(file[16:]), le.Uint64(file[24:])
	if have := uint64(len(file) - headerBytes - sumBytes); packed != have || le.Uint32(file[12:]) != 0 {
		return nil, refuse("size: %d compressed bytes, expected %d as the header says: it is cut off or something was added", have, packed)
	}
	end := len(file) - sumBytes
	if sum := sha256.Sum256(file[:end]); !bytes.Equal(sum[:], file[end:]) {
		return nil, refuse("checksum: %x, expected %x: the file was changed", sum[:8], file[end:][:8])
	}
	if size > maxBody {
		return nil, refuse("size: %d bytes uncompressed, expected at most %d", size, maxBody)
	}
	body, err := unpack(file[headerBytes:end], size)
	if err != nil {
		return nil, err
	}
	return split(body)
}

// unpack decompresses to exactly so many bytes. Room is made for what comes, not
// for what the header promises.
func unpack(packed []byte, size uint64) ([]byte, error) {
	in := bytes.NewReader(packed)
	z, err := gzip.NewReader(in)
	if err != nil {
		return nil, refuse("compressed part: %v, expected gzip", err)
	}
	z.Multistream(false)
	var b bytes.Buffer
	n, err := io.Copy(&b, io.LimitReader(z, int64(size)+1))
	switch {
	case err != nil:
		return nil, refuse("compressed part: %v, expected gzip", err)
	case uint64(n) != size:
		return nil, refuse("uncompressed size: %d bytes or more, expected %d as the header says", n, size)
	case in.Len() > 0:
		return nil, refuse("compressed part: %d bytes behind its end, expected none", in.Len())
	}
	return b.Bytes(), nil
}

// split reads the list of parts.
func split(body []byte) ([]part, error) {
	var all []part
	for len(body) > 0 {
		if len(body) < 4 {
			return nil, refuse("part %d: %d bytes, expected a length", len(all), len(body))
		}
		n := binary.LittleEndian.Uint32(body)
		if body = body[4:]; n > maxName || uint64(len(body)) < uint64(n)+8 {
			return nil, refuse("part %d: name of %d bytes, expected at most %d and all of it", len(all), n, maxName)
		}
		p := part{name: string(body[:n])}
		size := binary.LittleEndian.Uint64(body[n:])
		if body = body[n+8:]; size > uint64(len(body)) {
			return nil, refuse("part %.40q: %d bytes, expected at most the %d that are left", p.name, size, len(body))
		}
		p.body, body = body[:size:size], body[size:]
		all = append(all, p)
	}
	return all, nil
}

func refuse(format string, args ...any) error {
	return &poise.Error{Kind: poise.Invalid, Op: "read snapshot", Detail: fmt.Sprintf(format, args...)}
}
