-- The network in which the account signed in, as '192.0.2.x'; null if addresses are not recorded.
alter table sessions add column address text;
