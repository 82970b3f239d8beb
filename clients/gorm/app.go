// A shop on GORM. Each step that ends well is a line `pass gorm.STEP`, each other a line `fail`.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"gorm.io/datatypes"
	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
)

// changes are the statements other than queries, as GORM's log tells them.
type changes struct{ list []string }

func (c *changes) LogMode(logger.LogLevel) logger.Interface { return c }
func (c *changes) Info(context.Context, string, ...any)     {}
func (c *changes) Warn(context.Context, string, ...any)     {}
func (c *changes) Error(context.Context, string, ...any)    {}
func (c *changes) Trace(_ context.Context, _ time.Time, told func() (string, int64), _ error) {
	if text, _ := told(); !strings.HasPrefix(text, "SELECT") {
		c.list = append(c.list, text)
	}
}

func (c *changes) of(run func() error) ([]string, error) {
	c.list = nil
	err := run()
	return c.list, err
}

func step(name string, run func() error) {
	outcome := "pass"
	if err := run(); err != nil {
		outcome = "fail"
		fmt.Fprintf(os.Stderr, "== %s: %v\n", name, err)
	}
	fmt.Printf("%s gorm.%s\n", outcome, name)
}

func same(found, wanted any) error {
	if !reflect.DeepEqual(found, wanted) {
		return fmt.Errorf("%v instead of %v", found, wanted)
	}
	return nil
}

func failsWith(code string, err error) error {
	var found *pgconn.PgError
	if !errors.As(err, &found) || found.Code != code {
		return fmt.Errorf("%v instead of %s", err, code)
	}
	return nil
}

func open(simple bool, log *changes) *gorm.DB {
	config := postgres.Config{DSN: os.Getenv("DATABASE_URL"), PreferSimpleProtocol: simple}
	db, err := gorm.Open(postgres.New(config), &gorm.Config{Logger: log})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	return db
}

func main() {
	for name, simple := range map[string]bool{"prepared": false, "simple": true} {
		log := &changes{}
		db := open(simple, log)
		at := func(what string, run func() error) { step(name+"."+what, run) }
		tables(db, log, at)
		rows(db, at)
		later(db, log, at)
	}
}

func tables(db *gorm.DB, log *changes, at func(string, func() error)) {
	all := []any{&Company{}, &Language{}, &User{}, &Card{}}
	at("migrate", func() error {
		if err := db.Exec("create type card_kind as enum ('debit', 'credit')").Error; err != nil {
			return err
		}
		return db.AutoMigrate(all...)
	})
	at("migrate_again_changes_nothing", func() error {
		done, err := log.of(func() error { return db.AutoMigrate(all...) })
		return errors.Join(err, same(done, []string(nil)))
	})
	at("columns", func() error {
		types, err := db.Migrator().ColumnTypes(&User{})
		found := map[string]string{}
		for _, column := range types {
			length, _ := column.Length()
			precision, scale, _ := column.DecimalSize()
			null, _ := column.Nullable()
			value, _ := column.DefaultValue()
			comment, _ := column.Comment()
			found[column.Name()] = fmt.Sprint(column.DatabaseTypeName(), length, precision, scale, null, value, comment)
		}
		return errors.Join(err, same(found["name"], "varchar64 0 0 falseanonthe user's name"), same(found["score"], "numeric0 10 2 true1.5"),
			same(found["id"], "int864 64 0 false"), same(found["numbers"], "integer[]0 0 0 true{}"))
	})
	at("indexes", func() error {
		indexes, err := db.Migrator().GetIndexes(&User{})
		found := map[string]string{}
		for _, index := range indexes {
			unique, _ := index.Unique()
			found[index.Name()] = fmt.Sprint(index.Columns(), unique)
		}
		has := []bool{db.Migrator().HasConstraint(&User{}, "users_age"), db.Migrator().HasConstraint(&User{}, "Company"), db.Migrator().HasIndex(&User{}, "users_mail")}
		return errors.Join(err, same(found["users_name_age"], "[name age] false"), same(found["users_mail"], "[email] true"), same(has, []bool{true, true, true}))
	})
}

func rows(db *gorm.DB, at func(string, func() error)) {
	mail, born := "ada@x.org", time.Date(1990, 2, 28, 0, 0, 0, 0, time.UTC)
	at("create_with_associations", func() error {
		user := User{Name: "Ada", Age: 36, Email: &mail, Data: datatypes.JSON(`{"a": {"b": "é"}}`), Tags: datatypes.JSONSlice[string]{"x", "y"}, Birthday: &born,
			Wake: datatypes.NewTime(6, 30, 0, 0), Raw: []byte{0, 255}, Numbers: "{1,2}", Company: &Company{Name: "Acme"},
			Cards: []Card{{Number: "1"}, {Number: "2", Kind: "credit"}}, Languages: []Language{{Code: "en", Name: "English"}, {Code: "fr", Name: "French"}}}
		if err := db.Create(&user).Error; err != nil {
			return err
		}
		var found User
		err := db.Preload("Cards", func(cards *gorm.DB) *gorm.DB { return cards.Order("id") }).Preload("Languages").Joins("Company").First(&found, user.ID).Error
		if err != nil {
			return err
		}
		return errors.Join(same(found.Company.Name, "Acme"), same(found.Cards[0].Kind, "debit"), same(len(found.Languages), 2), same(found.Shouted, "ADA"),
			same(found.Raw, []byte{0, 255}), same(found.Wake.String(), "06:30:00"), same(found.Birthday.Equal(born), true), same(found.Address.City, "none"), same([]string(found.Tags), []string{"x", "y"}))
	})
	at("batches", func() error {
		users := make([]User, 250)
		for n := range users {
			users[n] = User{Name: fmt.Sprintf("u%d", n), Age: uint8(n % 90), Score: float64(n) / 4, Numbers: "{}", Kind: []string{"a", "b"}[n%2]}
		}
		if err := db.CreateInBatches(&users, 100).Error; err != nil {
			return err
		}
		read := 0
		err := db.Where("age < 30").FindInBatches(&[]User{}, 20, func(tx *gorm.DB, _ int) error { read += int(tx.RowsAffected); return nil }).Error
		return errors.Join(err, same(read, 90), same(users[3].Active, true))
	})
	at("queries", func() error {
		var counts [5]int64
		db.Model(&User{}).Where("name IN ?", []string{"u1", "u2"}).Or(db.Where("age = ?", 5).Where("kind = ?", "b")).Count(&counts[0])
		db.Model(&User{}).Where(datatypes.JSONQuery("data").Equals("é", "a", "b")).Count(&counts[1])
		db.Model(&User{}).Where("(name, age) IN ?", [][]any{{"u1", 1}, {"u2", 3}}).Count(&counts[2])
		db.Model(&User{}).Where("created_at > ?", time.Now().Add(-time.Hour)).Distinct("age").Count(&counts[3])
		db.Model(&User{}).Where("score > (?)", db.Model(&User{}).Select("AVG(score)")).Count(&counts[4])
		var best []string
		ranked := db.Model(&User{}).Select("name, row_number() over (partition by kind order by age desc, id) as place")
		err := db.Table("(?) as ranked", ranked).Where("place = 1").Order("name").Pluck("name", &best).Error
		var steps []int
		again := db.Raw("WITH RECURSIVE t(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM t WHERE n < @most) SELECT n FROM t", sql.Named("most", 3)).Scan(&steps).Error
		return errors.Join(err, again, same(counts, [5]int64{5, 1, 1, 90, 125}), same(best, []string{"u88", "u89"}), same(steps, []int{1, 2, 3}))
	})
	at("upserts", func() error {
		company := Company{ID: 1, Name: "Acme 2"}
		one := db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&company).Error
		both := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&[]Language{{Code: "en", Name: "E"}, {Code: "de", Name: "D"}}).Error
		none := db.Clauses(clause.OnConflict{DoNothing: true}).Create(&Language{Code: "en", Name: "Z"})
		var first Company
		made := db.Where(Company{Name: "New"}).FirstOrCreate(&first).Error
		return errors.Join(one, both, none.Error, made, same(none.RowsAffected, int64(0)), same(first.ID > 1, true))
	})
	at("changes", func() error {
		all := db.Model(&User{}).Where("kind = ?", "b").Updates(map[string]any{"score": gorm.Expr("score * ? + ?", 2, 1), "data": datatypes.JSONSet("data").Set("{z}", 1)})
		var older []User
		raised := db.Model(&older).Clauses(clause.Returning{Columns: []clause.Column{{Name: "age"}}}).Where("name = 'u3'").UpdateColumn("age", gorm.Expr("age + 1")).Error
		gone := db.Where("name = ?", "u7").Delete(&User{})
		var left, ever int64
		db.Model(&User{}).Count(&left)
		db.Unscoped().Model(&User{}).Count(&ever)
		return errors.Join(all.Error, raised, gone.Error, same(all.RowsAffected, int64(125)), same(older[0].Age, uint8(4)), same([]int64{left, ever}, []int64{250, 251}))
	})
	at("transactions", func() error {
		err := db.Transaction(func(outer *gorm.DB) error {
			outer.Create(&Company{Name: "T1"})
			outer.Transaction(func(inner *gorm.DB) error { inner.Create(&Company{Name: "T2"}); return errors.New("back") })
			outer.SavePoint("here")
			outer.Create(&Company{Name: "T3"})
			outer.RollbackTo("here")
			var user User
			return outer.Clauses(clause.Locking{Strength: "UPDATE", Options: "SKIP LOCKED"}).First(&user, 1).Error
		}, &sql.TxOptions{Isolation: sql.LevelRepeatableRead})
		var names []string
		db.Model(&Company{}).Where("name LIKE 'T_'").Pluck("name", &names)
		return errors.Join(err, same(names, []string{"T1"}))
	})
	at("errors", func() error {
		return errors.Join(failsWith("23505", db.Create(&Company{Name: "Acme 2"}).Error), failsWith("23514", db.Create(&User{Name: "old", Age: 250, Numbers: "{}"}).Error),
			failsWith("23503", db.Create(&Card{Number: "z", UserID: 9999}).Error), failsWith("22P02", db.Create(&Card{Number: "z", UserID: 1, Kind: "gold"}).Error),
			failsWith("22001", db.Create(&Language{Code: "toolong"}).Error))
	})
}

func later(db *gorm.DB, log *changes, at func(string, func() error)) {
	at("later_tables", func() error {
		done, err := log.of(func() error { return db.AutoMigrate(&LaterCard{}) })
		again, twice := log.of(func() error { return db.AutoMigrate(&LaterCard{}) })
		return errors.Join(err, twice, same(len(done), 8), same(again, []string(nil)))
	})
	at("migrator", func() error {
		migrator := db.Migrator()
		return errors.Join(migrator.RenameColumn("languages", "name", "title"), migrator.RenameIndex(&User{}, "users_name_age", "renamed"), migrator.DropIndex(&User{}, "renamed"),
			migrator.DropConstraint(&User{}, "users_age"), migrator.CreateConstraint(&User{}, "users_age"), migrator.DropColumn(&LaterCard{}, "Note"),
			migrator.CreateView("adults", gorm.ViewOption{Query: db.Model(&User{}).Where("age > 18"), Replace: true, CheckOption: "WITH CHECK OPTION"}), migrator.DropView("adults"))
	})
	at("drop", func() error {
		dropped := db.Migrator().DropTable("user_languages", &Card{}, &User{}, &Language{}, &Company{})
		return errors.Join(dropped, db.Exec("drop type card_kind").Error)
	})
}
