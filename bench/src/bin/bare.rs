//! A bare axum server that answers every call with the same bytes: what the framework and the
//! machine can do, for `cargo xtask bench` to measure Belfry against.

use std::error::Error;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use clap::Parser;
use http_body_util::BodyExt;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

/// Answers every call with the same bytes
#[derive(Debug, Parser)]
struct Arguments {
    /// The address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// The body of every answer
    #[arg(long)]
    body_file: PathBuf,
    /// The status of every answer
    #[arg(long, default_value = "200")]
    status: StatusCode,
    /// A header of every answer, as `name:value`
    #[arg(long = "header", value_parser = header)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

fn header(text: &str) -> Result<(HeaderName, HeaderValue), Box<dyn Error + Send + Sync>> {
    let (name, value) = text.split_once(':').ok_or("a header is name:value")?;
    Ok((name.trim().parse()?, value.trim().parse()?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { listen, body_file, status, headers } = Arguments::parse();
    // Shared, because axum clones the handler for every call.
    let headers: Arc<HeaderMap> = Arc::new(headers.into_iter().collect());
    let body = Bytes::from(std::fs::read(body_file)?);
    let answer = async move |call: Request| {
        // It reads what it is sent, as anyone must who wants to know what that was.
        if !call.body().is_end_stream() {
            let _ = call.into_body().collect().await;
        }
        let mut response = Response::new(Body::from(body.clone()));
        *response.status_mut() = status;
        *response.headers_mut() = HeaderMap::clone(&headers);
        response
    };
    // A fallback: the bare server has one answer and no need to look at the path.
    let router = Router::new().fallback(answer);

    let listener = TcpListener::bind(listen).await?;
    println!("bare listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connections = Builder::new(TokioExecutor::new());
            // A caller who hangs up is no news.
            let _ = connections.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
