// Command outside is all of the internet that containers of a test can see. It answers at
// every port that is tried, as the Firecrawl API over TLS, and says who came.
package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/durward/durward/worker/firecrawl/firecrawltest"
)

func main() {
	api := &firecrawltest.API{Key: "fc-test", Looks: 1}
	for _, port := range []string{"80", "443"} {
		l := listen(port)
		server := http.Server{ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/away" {
				http.Redirect(w, r, "http://169.254.169.254/latest/meta-data/", http.StatusFound)
				return
			}
			api.ServeHTTP(w, r)
		})}
		go func() {
			if port == "443" {
				fail(server.ServeTLS(l, "/cert.pem", "/key.pem"))
			}
			fail(server.Serve(l))
		}()
	}
	go answerStreams(listen("53"))
	go answerDatagrams("123")
	fmt.Println("outside is there")
	answerDatagrams("53")
}

func fail(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// A telling listener says who came.
type telling struct {
	net.Listener
	port string
}

func listen(port string) net.Listener {
	l, err := net.Listen("tcp", ":"+port)
	fail(err)
	return telling{l, port}
}

func (l telling) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		tell("tcp", l.port, conn.RemoteAddr())
	}
	return conn, err
}

func tell(network, port string, from net.Addr) {
	host, _, err := net.SplitHostPort(from.String())
	fail(err)
	fmt.Printf("%s %s from %s\n", network, port, host)
}

func answerStreams(l net.Listener) {
	for {
		conn, err := l.Accept()
		fail(err)
		question := make([]byte, 1<<10)
		if n, err := conn.Read(question); err == nil && n > 2 {
			reply := address(question[2:n])
			_, _ = conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...))
		}
		conn.Close()
	}
}

func answerDatagrams(port string) {
	conn, err := net.ListenPacket("udp", ":"+port)
	fail(err)
	question := make([]byte, 1<<10)
	for {
		n, from, err := conn.ReadFrom(question)
		fail(err)
		tell("udp", port, from)
		_, _ = conn.WriteTo(address(question[:n]), from)
	}
}

// address answers a question for the address of any name with 11.22.33.10. What is no
// question comes back as it is.
func address(question []byte) []byte {
	if len(question) < 12 || question[5] == 0 {
		return question
	}
	reply := append([]byte(nil), question...)
	reply[2], reply[3] = 0x81, 0x80
	reply[6], reply[7], reply[8], reply[9], reply[10], reply[11] = 0, 1, 0, 0, 0, 0
	return append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4, 11, 22, 33, 10)
}
