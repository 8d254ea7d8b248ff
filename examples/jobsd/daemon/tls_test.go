package daemon_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/fantasytools/fantasytools/examples/jobsd/daemon"
	"github.com/fantasytools/fantasytools/jobsclient"
)

// certificate makes a certificate for this machine, and returns its files and the
// pool that trusts it.
func certificate(t *testing.T) (cert, key string, trusted *x509.CertPool) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key, trusted = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem"), x509.NewCertPool()
	for path, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: der}, key: {Type: "EC PRIVATE KEY", Bytes: keyDER}} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	trusted.AddCert(parsed)
	return cert, key, trusted
}

func TestWithACertificateTheDaemonListensForOtherMachines(t *testing.T) {
	cert, key, trusted := certificate(t)
	r := registry(t, shell("me"))
	d := start(t, daemon.Config{Agents: r, Socket: "-", Listen: "0.0.0.0:0", TLSCert: cert, TLSKey: key})
	_, port, found := strings.Cut(strings.TrimPrefix(d.URL(), "https://"), "]:")
	if !found {
		_, port, _ = strings.Cut(strings.TrimPrefix(d.URL(), "https://"), ":")
	}
	token, err := r.Token("me")
	if err != nil {
		t.Fatal(err)
	}
	c := jobsclient.New(jobsclient.Config{
		URL: "https://127.0.0.1:" + port, Token: token,
		DialOptions: []grpc.DialOption{grpc.WithTransportCredentials(credentials.NewClientTLSFromCert(trusted, ""))},
	})
	defer c.Close() //nolint:errcheck // the test's own
	if j := wait(t, c, submit(t, c, "echo hello")); j.Stdout != "hello\n" {
		t.Errorf("got %+v", j)
	}
	plain := jobsclient.New(jobsclient.Config{URL: "http://127.0.0.1:" + port, Token: token})
	defer plain.Close() //nolint:errcheck // the test's own
	if _, err := plain.List(testContext(t), jobsclient.ListOptions{}); err == nil {
		t.Error("it answers without TLS")
	}
}

func TestACertificateThatCannotBeReadIsNamed(t *testing.T) {
	cert, _, _ := certificate(t)
	_, key, _ := certificate(t)
	for name, c := range map[string]daemon.Config{
		"a missing file":              {TLSCert: "none.pem", TLSKey: key},
		"the key of another":          {TLSCert: cert, TLSKey: key},
		"a certificate for a key too": {TLSCert: cert, TLSKey: cert},
	} {
		c.Agents, c.StateDir, c.Socket, c.Listen = registry(t, shell("me")), t.TempDir(), "-", "127.0.0.1:0"
		if _, err := daemon.Start(testContext(t), c); err == nil || !strings.Contains(err.Error(), "reading the certificate") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
