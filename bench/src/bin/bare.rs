//! A bare axum server that returns the same response to every request: the reference for
//! `cargo xtask bench`.

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

/// Returns the same response to every request
#[derive(Debug, Parser)]
struct Arguments {
    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// File with the response body
    #[arg(long)]
    body_file: PathBuf,
    /// Response status
    #[arg(long, default_value = "200")]
    status: StatusCode,
    /// Response header, as `name:value`
    #[arg(long = "header", value_parser = parse_header)]
    headers: Vec<(HeaderName, HeaderValue)>,
}

fn parse_header(text: &str) -> Result<(HeaderName, HeaderValue), Box<dyn Error + Send + Sync>> {
    let (name, value) = text.split_once(':').ok_or("expected name:value")?;
    Ok((name.trim().parse()?, value.trim().parse()?))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let Arguments { listen, body_file, status, headers } = Arguments::parse();
    // Shared, because axum clones the handler for every request.
    let headers: Arc<HeaderMap> = Arc::new(headers.into_iter().collect());
    let body = Bytes::from(std::fs::read(body_file)?);
    let respond = async move |request: Request| {
        // Reads the body, as every real handler does.
        if !request.body().is_end_stream() {
            let _ = request.into_body().collect().await;
        }
        let mut response = Response::new(Body::from(body.clone()));
        *response.status_mut() = status;
        *response.headers_mut() = HeaderMap::clone(&headers);
        response
    };
    // A fallback handler, because the path makes no difference.
    let router = Router::new().fallback(respond);

    let listener = TcpListener::bind(listen).await?;
    println!("bare listening on http://{}", listener.local_addr()?);
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = TowerToHyperService::new(router.clone());
        tokio::spawn(async move {
            let connections = Builder::new(TokioExecutor::new());
            // A closed connection is not an error.
            let _ = connections.serve_connection(TokioIo::new(stream), service).await;
        });
    }
}
