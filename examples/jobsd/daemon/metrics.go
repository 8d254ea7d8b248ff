package daemon

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics counts what front and worker do.
type metrics struct {
	registry  *prometheus.Registry
	calls     *prometheus.HistogramVec
	watches   prometheus.Gauge
	submitted *prometheus.CounterVec
	running   prometheus.Gauge
	ended     *prometheus.HistogramVec
	output    prometheus.Counter
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "jobsd_call_duration_seconds", Help: "How long calls took, by call and code of gRPC.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}, []string{"call", "code"}),
		watches:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "jobsd_watches", Help: "Watches that are open."}),
		submitted: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "jobsd_jobs_submitted_total", Help: "Jobs that were accepted, by agent."}, []string{"agent"}),
		running:   prometheus.NewGauge(prometheus.GaugeOpts{Name: "jobsd_jobs_running", Help: "Jobs that this process runs."}),
		ended: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "jobsd_job_duration_seconds", Help: "How long jobs ran in this process, by how they ended.",
			Buckets: prometheus.ExponentialBuckets(0.01, 4, 10),
		}, []string{"status"}),
		output: prometheus.NewCounter(prometheus.CounterOpts{Name: "jobsd_job_output_bytes_total", Help: "Bytes that jobs of this process wrote."}),
	}
	m.registry.MustRegister(m.calls, m.watches, m.submitted, m.running, m.ended, m.output,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Call is of [front.Observer], as are Watches and Submitted.
func (m *metrics) Call(name, code string, took time.Duration) {
	m.calls.WithLabelValues(name, code).Observe(took.Seconds())
}

func (m *metrics) Watches(open int) { m.watches.Set(float64(open)) }

func (m *metrics) Submitted(agent string) { m.submitted.WithLabelValues(agent).Inc() }

// JobStarted is of [worker.Observer], as is JobEnded.
func (m *metrics) JobStarted() { m.running.Inc() }

func (m *metrics) JobEnded(status string, ran time.Duration, output int64) {
	m.running.Dec()
	m.ended.WithLabelValues(status).Observe(ran.Seconds())
	m.output.Add(float64(output))
}

// startMetrics serves /metrics and /healthz.
func (d *Daemon) startMetrics() error {
	if d.config.Metrics == "" {
		return nil
	}
	d.metrics.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "jobsd_queue_jobs", Help: "Jobs of all workers that are pending or running; -1 if the queue cannot be asked.",
	}, d.queued))
	l, err := listenTCP(d.config.Metrics)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(d.metrics.registry, promhttp.HandlerOpts{Timeout: 10 * time.Second}))
	mux.HandleFunc("GET /healthz", d.health)
	s := server(mux, d.logger, nil)
	d.servers = append(d.servers, s)
	d.metricsURL = "http://" + l.Addr().String()
	d.rest.Go(func() {
		if err := serve(s, atMost(maxConnections, l)); err != nil {
			d.fail(fmt.Errorf("serving metrics: %w", err))
		}
	})
	return nil
}

func (d *Daemon) queued() float64 {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	n, err := d.store.Queued(ctx)
	if err != nil {
		return -1
	}
	return float64(n)
}

// health answers 200 while jobs can be taken and 503 otherwise, with the reason.
func (d *Daemon) health(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]string{"status": "ok"}
	if err := d.store.Ready(); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		answer = map[string]string{"status": "unavailable", "reason": err.Error()}
	}
	_ = json.NewEncoder(w).Encode(answer)
}
