//! A router whose routes all belong to one area.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, any};
use tower_layer::layer_fn;

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::layer::area::{Area, AreaService};

/// The routes of one area. Their paths are recorded for tests.
pub(crate) struct AreaRouter {
    pub(crate) area: Area,
    pub(crate) paths: Vec<String>,
    routes: Router<Arc<AppState>>,
    /// Catch-all routes, in a second router, because one router cannot have a parameter and a
    /// catch-all at the same position.
    unknown: Router<Arc<AppState>>,
}

impl AreaRouter {
    pub(crate) fn new(area: Area) -> Self {
        Self { area, paths: Vec::new(), routes: Router::new(), unknown: Router::new() }
    }

    /// Adds a route, also with a trailing slash if the area ignores it.
    pub(crate) fn route(mut self, path: &str, methods: MethodRouter<Arc<AppState>>) -> Self {
        if self.area.ignores_trailing_slash {
            self.routes = self.routes.route(&format!("{path}/"), methods.clone());
        }
        self.routes = self.routes.route(path, methods);
        self.paths.push(path.to_owned());
        self
    }

    /// Assigns this path and all unknown paths below it to the area, with the error 404.
    pub(crate) fn not_found_under(self, prefix: &str) -> Self {
        let not_found = || any(async || CommonError::NotFound);
        let mut this = self.unknown_under(prefix, not_found());
        this.unknown = this.unknown.route(prefix, not_found());
        this.unknown = this.unknown.route(&format!("{prefix}/"), not_found());
        this
    }

    /// Handles unknown paths below this one.
    pub(crate) fn unknown_under(
        mut self,
        prefix: &str,
        methods: MethodRouter<Arc<AppState>>,
    ) -> Self {
        let path = format!("{prefix}/{{*path}}");
        self.unknown = self.unknown.route(&path, methods);
        self.paths.push(path);
        self
    }

    /// Handles requests with a method that the routes added so far do not support.
    pub(crate) fn wrong_method<T: 'static>(
        mut self,
        handler: impl Handler<T, Arc<AppState>>,
    ) -> Self {
        self.routes = self.routes.method_not_allowed_fallback(handler);
        self
    }
}

/// Joins areas to one router. All other paths belong to the area `fallback`.
pub(crate) fn join(areas: Vec<AreaRouter>, fallback: Area, state: &Arc<AppState>) -> Router {
    let not_found = Router::new().fallback(async || CommonError::NotFound);
    let mut unknown = with_area(not_found, fallback, state);
    let mut routes = Router::new();
    for area in areas {
        let area_routes =
            area.routes.method_not_allowed_fallback(async || CommonError::MethodNotAllowed);
        routes = routes.merge(with_area(area_routes, area.area, state));
        unknown = unknown.merge(with_area(area.unknown, area.area, state));
    }
    routes.fallback_service(unknown)
}

fn with_area(router: Router<Arc<AppState>>, area: Area, state: &Arc<AppState>) -> Router {
    let shared = Arc::clone(state);
    let layer = layer_fn(move |route| AreaService { area, state: Arc::clone(&shared), route });
    router.layer(layer).with_state(Arc::clone(state))
}
