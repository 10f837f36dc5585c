package flows

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
)

// Constants of OpenFlow 1.5 (sections 7.1 and 7.5 of the specification): messages have a header of 8 bytes with the version, the type, the length and an
// identifier.
const (
	version     = 0x06
	headerSize  = 8
	typeHello   = 0
	typeError   = 1
	typeEcho    = 2
	typeReply   = 3
	helloBitmap = 1 // type of the element of a hello that lists versions
)

// Session connects to the bridge, calls connected, and returns when the connection ends: ovs-vswitchd has then ended and lost the flows, or the bridge was
// removed. The error is the reason; nil if the context ended.
func (b Bridge) Session(ctx context.Context, connected func()) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", b.management())
	if err != nil {
		return b.sessionError(ctx, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	// The hello lists its only version: without the list, the version of the header would be the highest supported one.
	element := []byte{0, helloBitmap, 0, 8, 0, 0, 0, 1 << version}
	if err := send(conn, typeHello, 1, element); err != nil {
		return b.sessionError(ctx, err)
	}
	for {
		kind, id, body, err := receive(conn)
		if err != nil {
			return b.sessionError(ctx, err)
		}
		switch kind {
		case typeHello:
			connected()
		case typeError:
			return b.sessionError(ctx, fmt.Errorf("the bridge refuses the connection: % x", body))
		case typeEcho:
			if err := send(conn, typeReply, id, body); err != nil {
				return b.sessionError(ctx, err)
			}
		}
	}
}

func (b Bridge) sessionError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the connection has ended")
	}
	return fmt.Errorf("bridge %s: %w", b.Name, err)
}

func send(w io.Writer, kind byte, id uint32, body []byte) error {
	message := make([]byte, headerSize, headerSize+len(body))
	message[0], message[1] = version, kind
	binary.BigEndian.PutUint16(message[2:], uint16(headerSize+len(body)))
	binary.BigEndian.PutUint32(message[4:], id)
	_, err := w.Write(append(message, body...))
	return err
}

func receive(r io.Reader) (kind byte, id uint32, body []byte, err error) {
	var header [headerSize]byte
	if _, err := io.ReadFull(r, header[:]); err != nil {
		return 0, 0, nil, err
	}
	length := int(binary.BigEndian.Uint16(header[2:]))
	if length < headerSize {
		return 0, 0, nil, fmt.Errorf("a message of %d bytes is shorter than its header", length)
	}
	body = make([]byte, length-headerSize)
	_, err = io.ReadFull(r, body)
	return header[1], binary.BigEndian.Uint32(header[4:]), body, err
}
