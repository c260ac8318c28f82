// Temporal's web UI on the loopback address, beside a server under test.
package main

import (
	"flag"
	"log"

	"github.com/temporalio/ui-server/v2/server"
	"github.com/temporalio/ui-server/v2/server/config"
	"github.com/temporalio/ui-server/v2/server/server_options"
)

func main() {
	address := flag.String("address", "127.0.0.1:7233", "host:port of the Temporal service")
	port := flag.Int("port", 8233, "where to listen")
	flag.Parse()

	ui := server.NewServer(server_options.WithConfigProvider(&config.Config{
		TemporalGRPCAddress: *address,
		Host:                "127.0.0.1",
		Port:                *port,
		EnableUI:            true,
		DefaultNamespace:    "default",
		// Tests talk to the loopback address only.
		DisableNewsFetch: true,
	}))
	defer ui.Stop()
	if err := ui.Start(); err != nil {
		log.Fatal(err)
	}
}
