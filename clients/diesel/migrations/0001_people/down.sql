drop table posts; drop table people; drop type mood;
