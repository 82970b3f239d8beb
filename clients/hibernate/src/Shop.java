import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.DiscriminatorColumn;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.Enumerated;
import jakarta.persistence.EnumType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.Inheritance;
import jakarta.persistence.InheritanceType;
import jakarta.persistence.Lob;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OrderBy;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Table;
import jakarta.persistence.UniqueConstraint;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.sql.Blob;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.hibernate.annotations.Check;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.Formula;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.SQLDelete;
import org.hibernate.annotations.SQLRestriction;
import org.hibernate.dialect.PostgreSQLEnumJdbcType;
import org.hibernate.annotations.JdbcType;
import org.hibernate.type.SqlTypes;

/** The entities of the shop: a way of keys, of types and of relations each. */
class Shop {
  enum State { ACTIVE, GONE, NEW }

  @Embeddable
  static class Address {
    String street;
    String city;

    Address() {}

    Address(String street, String city) {
      this.street = street;
      this.city = city;
    }

    int length() {
      return street.length() - 1;
    }
  }

  @Entity(name = "Customer")
  @Table(name = "customer", indexes = @Index(name = "customer_name", columnList = "name, born desc"))
  static class Customer {
    @Id @GeneratedValue UUID id;
    @Column(nullable = false, length = 100) String name;
    @Enumerated(EnumType.STRING) @JdbcType(PostgreSQLEnumJdbcType.class) State state;
    LocalDate born;
    Instant since;
    String[] phones;
    List<Integer> scores;
    @JdbcTypeCode(SqlTypes.JSON) Map<String, String> settings;
    @Embedded Address address;
    @ElementCollection Set<String> keywords = new HashSet<>();
    byte[] photo;
    @CreationTimestamp Instant made;
  }

  @Entity(name = "Product")
  @Table(name = "product")
  @Inheritance(strategy = InheritanceType.JOINED)
  @DiscriminatorColumn(name = "kind")
  static class Product {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "products")
    @SequenceGenerator(name = "products", sequenceName = "product_numbers", allocationSize = 20)
    Integer id;
    String name;
    @Column(precision = 10, scale = 2) BigDecimal price;
    @ManyToMany Set<Label> labels = new HashSet<>();
  }

  @Entity(name = "Book")
  @Table(name = "book")
  static class Book extends Product {
    String isbn;

    Book() {}

    Book(String isbn) {
      this.isbn = isbn;
    }
  }

  @Entity(name = "Machine")
  @Table(name = "machine")
  static class Machine extends Product {
    int watts;

    Machine() {}

    Machine(int watts) {
      this.watts = watts;
    }
  }

  @Entity(name = "Purchase")
  @Table(name = "purchase")
  static class Purchase {
    @Id @GeneratedValue Long id;
    @ManyToOne(optional = false) Customer customer;
    @OneToMany(mappedBy = "purchase", cascade = CascadeType.ALL, orphanRemoval = true) @OrderBy("id")
    List<Line> lines = new ArrayList<>();
    @Formula("(select sum(l.quantity * p.price) from {h-schema}line l join {h-schema}product p on p.id = l.product_id where l.purchase_id = id)")
    BigDecimal total;

    Purchase() {}

    Purchase(Customer customer) {
      this.customer = customer;
    }
  }

  @Entity(name = "Line")
  @Table(name = "line")
  static class Line {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @ManyToOne(optional = false) Purchase purchase;
    @ManyToOne(optional = false) Product product;
    int quantity;

    Line() {}

    Line(Purchase purchase, Product product, int quantity) {
      this.purchase = purchase;
      this.product = product;
      this.quantity = quantity;
    }
  }

  @Entity(name = "Label")
  @Table(name = "label", uniqueConstraints = @UniqueConstraint(name = "label_name", columnNames = "name"))
  @Check(name = "label_uses", constraints = "uses >= 0")
  static class Label {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @Column(nullable = false) String name;
    int uses;
    @Version int version;

    Label() {}

    Label(String name) {
      this.name = name;
    }
  }

  @Entity(name = "Note")
  @Table(name = "note")
  @SQLDelete(sql = "update app_hibernate.note set deleted = true where id = ?")
  @SQLRestriction("deleted = false")
  static class Note {
    @Id @GeneratedValue Long id;
    @Column(columnDefinition = "text") String text;
    boolean deleted;
    @Lob Blob file;

    Note() {}

    Note(String text) {
      this.text = text;
    }
  }
}
