//! Requests as spans of OpenTelemetry, sent to a collector by OTLP over HTTP. A span has the facts of the log line, so
//! nothing in it is secret.

use opentelemetry::propagation::TextMapPropagator;
use opentelemetry::trace::{
    Span, SpanContext, SpanKind, Status, TraceContextExt, TraceState, Tracer, TracerProvider,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{Bytes, HeaderExtractor, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{Protocol, SpanExporter, WithExportConfig, WithHttpConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use seconder::remote::{Dialer, client_tls};
use seconder_gateways::client::Client;
use seconder_gateways::tls;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// The time that a collector may take to accept spans.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The time for which the end of the process waits until the last spans are sent.
const FLUSH: Duration = Duration::from_secs(2);

/// Sends spans to a collector, on a thread of its own. Clones are the same.
#[derive(Clone)]
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
}

/// A request that has ended.
pub(crate) struct Ended<'a> {
    /// The span of the client, if its headers name one.
    pub(crate) parent: &'a Context,
    pub(crate) took: Duration,
    pub(crate) method: &'static str,
    /// The template of the path, if it belongs to a call.
    pub(crate) route: Option<&'static str>,
    pub(crate) status: u16,
    /// Further attributes, by their names.
    pub(crate) more: Vec<(&'static str, String)>,
    /// The failure in the service.
    pub(crate) failure: Option<String>,
}

impl Traces {
    /// Sends spans to this URL, such as `http://localhost:4318/v1/traces`: of so many of the requests whose
    /// client has not decided it, from 0 to 1. The dialer connects to the collector. `log` receives a line when the
    /// collector begins to fail, and when it works again.
    ///
    /// # Errors
    /// The reason why this cannot be done.
    pub fn new(
        url: &str,
        ratio: f64,
        dialer: &Dialer,
        log: impl Fn(&str) + Send + Sync + 'static,
    ) -> Result<Traces, String> {
        let trusted = url.starts_with("https://").then(|| client_tls(None)).transpose();
        let trusted = trusted.map_err(tls::reason)?;
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpJson)
            .with_endpoint(url)
            .with_timeout(TIMEOUT)
            .with_http_client(Collector {
                client: Client::new(TIMEOUT, trusted, dialer),
                fails: AtomicBool::new(false),
                log: Box::new(log),
            })
            .build()
            .map_err(|error| error.to_string())?;
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let resource = Resource::builder().with_service_name("seconder").with_attribute(version);
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio))))
            .with_batch_exporter(exporter)
            .build();
        let tracer = provider.tracer("seconder");
        Ok(Traces { provider, tracer })
    }

    /// Returns the span of the client (W3C Trace Context).
    pub(crate) fn parent(headers: &axum::http::HeaderMap) -> Context {
        let given = TraceContextPropagator::new()
            .extract_with_context(&Context::new(), &HeaderExtractor(headers));
        let span = given.span().span_context().clone();
        if !span.is_valid() {
            return Context::new();
        }
        // The context leaves out `tracestate`, a text of the client's that would be passed on.
        Context::new().with_remote_span_context(SpanContext::new(
            span.trace_id(),
            span.span_id(),
            span.trace_flags(),
            true,
            TraceState::default(),
        ))
    }

    /// Sends the span of a request that ends now.
    pub(crate) fn record(&self, ended: Ended<'_>) {
        #[allow(
            clippy::disallowed_methods,
            reason = "spans have the times of the machine, as the log"
        )]
        let now = SystemTime::now();
        let begun = now.checked_sub(ended.took).unwrap_or(now);
        // As the conventions for spans of HTTP servers name them.
        let name = match ended.route {
            Some(route) => format!("{} {route}", ended.method),
            None => ended.method.to_owned(),
        };
        let mut attributes = vec![
            KeyValue::new("http.request.method", ended.method),
            KeyValue::new("http.response.status_code", i64::from(ended.status)),
            KeyValue::new("url.scheme", "https"),
        ];
        attributes.extend(ended.route.map(|route| KeyValue::new("http.route", route)));
        attributes.extend(ended.more.into_iter().map(|(name, value)| KeyValue::new(name, value)));
        let mut span = self
            .tracer
            .span_builder(name)
            .with_kind(SpanKind::Server)
            .with_start_time(begun)
            .with_attributes(attributes)
            .start_with_context(&self.tracer, ended.parent);
        if let Some(failure) = ended.failure {
            span.set_status(Status::error(failure));
        }
        span.end_with_timestamp(now);
    }

    /// Sends the remaining spans, for a moment at most.
    pub(crate) fn end(&self) {
        // An error at the end of the process is not read.
        let _ = self.provider.shutdown_with_timeout(FLUSH);
    }
}

/// The client of the exporter, which waits on the thread that the exporter has for it.
struct Collector {
    client: Client,
    /// Set if it did not accept the latest spans.
    fails: AtomicBool,
    log: Box<dyn Fn(&str) + Send + Sync>,
}

impl Collector {
    fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let response = self.client.run(request.map(|body| body.to_vec()), None);
        let response = response.map_err(|failure| failure.reason());
        match response.as_ref().map(|response| response.status) {
            Ok(200..300) => self.note(None),
            Ok(status) => self.note(Some(&format!("responds with status {status}"))),
            Err(reason) => self.note(Some(reason)),
        }
        let response = response?;
        Ok(Response::builder().status(response.status).body(Bytes::from(response.body?))?)
    }

    /// Reports the first failure, and the end of failures.
    fn note(&self, failure: Option<&str>) {
        match (failure, self.fails.swap(failure.is_some(), Ordering::Relaxed)) {
            (Some(reason), false) => {
                (self.log)(&format!(
                    "the collector of traces accepts no spans, which are lost: {reason}"
                ));
            }
            (None, true) => (self.log)("info: the collector of traces accepts spans again"),
            _ => {}
        }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Collector")
    }
}

impl HttpClient for Collector {
    fn send_bytes<'client, 'future>(
        &'client self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'future>>
    where
        'client: 'future,
        Self: 'future,
    {
        let response = self.send(request);
        Box::pin(async move { response })
    }
}
