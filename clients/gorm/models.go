package main

import (
	"time"

	"gorm.io/datatypes"
	"gorm.io/gorm"
)

type Company struct {
	ID   uint   `gorm:"primaryKey"`
	Name string `gorm:"size:100;uniqueIndex;not null"`
}

type Language struct {
	Code string `gorm:"primaryKey;size:5"`
	Name string
}

type Address struct {
	City string `gorm:"size:50;default:'none'"`
	Zip  *string
}

type User struct {
	gorm.Model
	Name      string         `gorm:"size:64;index:users_name_age,priority:1;not null;default:'anon';comment:the user's name"`
	Age       uint8          `gorm:"index:users_name_age,priority:2,sort:desc;check:users_age,age < 200"`
	Email     *string        `gorm:"uniqueIndex:users_mail,where:deleted_at IS NULL;type:varchar(200)"`
	Score     float64        `gorm:"type:numeric(10,2);default:1.5"`
	Active    bool           `gorm:"default:true"`
	Data      datatypes.JSON `gorm:"type:jsonb"`
	Tags      datatypes.JSONSlice[string]
	Birthday  *time.Time `gorm:"type:date"`
	Wake      datatypes.Time
	UUID      string `gorm:"type:uuid;default:gen_random_uuid()"`
	Raw       []byte
	Kind      string  `gorm:"type:varchar(10);default:'a';index:users_kind,expression:lower(kind)"`
	Numbers   string  `gorm:"type:integer[];default:'{}'"`
	Address   Address `gorm:"embedded;embeddedPrefix:address_"`
	CompanyID *uint
	Company   *Company   `gorm:"constraint:OnUpdate:CASCADE,OnDelete:SET NULL;"`
	Cards     []Card     `gorm:"constraint:OnDelete:CASCADE"`
	Languages []Language `gorm:"many2many:user_languages"`
	Shouted   string     `gorm:"->;type:text GENERATED ALWAYS AS (upper(name)) STORED"`
	At        time.Time  `gorm:"default:now()"`
}

type Card struct {
	ID     int64  `gorm:"primaryKey;autoIncrement"`
	Number string `gorm:"unique;size:20"`
	UserID uint
	Kind   string `gorm:"type:card_kind;default:debit"`
}

// LaterCard is what cards become.
type LaterCard struct {
	ID     int64  `gorm:"primaryKey;autoIncrement"`
	Number string `gorm:"unique;size:40;not null;default:'x'"`
	UserID uint
	Kind   string  `gorm:"type:card_kind;default:credit"`
	Most   float32 `gorm:"default:100;index"`
	Note   *string `gorm:"type:text;comment:a note"`
}

func (LaterCard) TableName() string { return "cards" }
