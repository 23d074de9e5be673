-- The network of the sign-in, such as '192.0.2.x'; null if addresses are not recorded.
alter table sessions add column address text;
