//! Routers whose routes all belong to one area, and the router that joins them.

use std::sync::Arc;

use axum::Router;
use axum::handler::Handler;
use axum::routing::{MethodRouter, any};

use crate::app::AppState;
use crate::http::error::CommonError;
use crate::http::layer::area::Area;

/// The routes of one area.
pub(crate) struct AreaRouter {
    pub(crate) area: Area,
    pub(crate) routes: PathRouter,
    /// Catch-all routes, in a second router, because one router cannot have a parameter and a
    /// catch-all at the same position.
    pub(crate) unknown: PathRouter,
}

/// A router that can list its paths.
#[derive(Default)]
pub(crate) struct PathRouter {
    router: Router<Arc<AppState>>,
    pub(crate) paths: Vec<String>,
}

impl PathRouter {
    fn add(&mut self, path: String, methods: MethodRouter<Arc<AppState>>) {
        self.router = std::mem::take(&mut self.router).route(&path, methods);
        self.paths.push(path);
    }
}

impl AreaRouter {
    pub(crate) fn new(area: Area) -> Self {
        Self { area, routes: PathRouter::default(), unknown: PathRouter::default() }
    }

    /// Adds a route, also with a trailing slash if the area ignores it.
    pub(crate) fn route(mut self, path: &str, methods: MethodRouter<Arc<AppState>>) -> Self {
        if self.area.ignores_trailing_slash {
            self.routes.add(format!("{path}/"), methods.clone());
        }
        self.routes.add(path.to_owned(), methods);
        self
    }

    /// Assigns this path and all unknown paths below it to the area, with the error 404.
    pub(crate) fn not_found_under(self, prefix: &str) -> Self {
        let not_found = || any(async || CommonError::NotFound);
        let mut this = self.unknown_under(prefix, not_found());
        this.unknown.add(prefix.to_owned(), not_found());
        this.unknown.add(format!("{prefix}/"), not_found());
        this
    }

    /// Handles unknown paths below this one.
    pub(crate) fn unknown_under(
        mut self,
        prefix: &str,
        methods: MethodRouter<Arc<AppState>>,
    ) -> Self {
        self.unknown.add(format!("{prefix}/{{*path}}"), methods);
        self
    }

    /// Handles requests with a method that the routes added so far do not support.
    pub(crate) fn wrong_method<T: 'static>(
        mut self,
        handler: impl Handler<T, Arc<AppState>>,
    ) -> Self {
        self.routes.router = self.routes.router.method_not_allowed_fallback(handler);
        self
    }
}

/// All routes, and the area of every path.
pub(crate) struct Routes {
    pub(crate) router: Router,
    /// The areas by the paths of `router` and of its fallback.
    areas: [matchit::Router<Area>; 2],
    fallback: Area,
}

impl Routes {
    /// Joins areas. All other paths belong to the area `fallback`.
    pub(crate) fn join(areas: Vec<AreaRouter>, fallback: Area, state: &Arc<AppState>) -> Self {
        let mut routes = Router::new();
        let mut unknown = Router::new().fallback(async || CommonError::NotFound);
        let mut by_path = [matchit::Router::new(), matchit::Router::new()];
        for AreaRouter { area, routes: known, unknown: other } in areas {
            routes = routes.merge(known.router);
            unknown = unknown.merge(other.router);
            for (paths, areas) in [known.paths, other.paths].into_iter().zip(&mut by_path) {
                for path in paths {
                    areas.insert(path, area).expect("the router accepted this path");
                }
            }
        }
        let all = routes
            .method_not_allowed_fallback(async || CommonError::MethodNotAllowed)
            .fallback_service(unknown.with_state(Arc::clone(state)));
        Self { router: all.with_state(Arc::clone(state)), areas: by_path, fallback }
    }

    /// The area of a path. The layer applies its policies before the router runs, so that
    /// rejecting a request stays cheap.
    pub(crate) fn area(&self, path: &str) -> Area {
        let matched = self.areas.iter().find_map(|areas| areas.at(path).ok());
        matched.map_or(self.fallback, |matched| *matched.value)
    }
}
