//! What the habits of this project share with its tests: private copies of the engines that Belfry
//! works with, which end with the process that started them. Standard library only, so that it
//! compiles first and fast on a machine that has just met the project.

pub mod engines;
pub mod folder;
pub mod group;
pub mod programs;
