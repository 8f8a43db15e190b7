// A server that keeps 10,000 sessions of 1,024 bytes, and says where it serves its heap profile.
package main

import (
	"fmt"
	"net"
	"net/http"
	_ "net/http/pprof"
	"runtime"
	"time"
)

type session struct{ text [1000]byte }

var keep []*session
var passed []byte

//go:noinline
func newSession() *session { return &session{} }

func fill() {
	for i := 0; i < 10000; i++ {
		keep = append(keep, newSession())
	}
}

func main() {
	runtime.MemProfileRate = 4096
	// The first sample was drawn by the rate before, for each processor: this is past it.
	runtime.GOMAXPROCS(1)
	passed = make([]byte, 16<<20)
	passed = nil
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fill()
	// The profile is of the last collection.
	runtime.GC()
	runtime.GC()
	go http.Serve(listener, nil)
	fmt.Println("READY", listener.Addr())
	time.Sleep(60 * time.Second)
}
