import io.debezium.engine.ChangeEvent;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.format.Json;
import io.debezium.engine.spi.OffsetCommitPolicy;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;

/**
 * Debezium's engine without Kafka: prints "event DESTINATION KEY VALUE" for each event, with tabs between, and "ended" when it has
 * been stopped in good order. It is stopped when its input ends, or in the midst of what it reads: after so many events.
 *
 * Arguments: the number of events after which it is stopped, 0 for none; then properties, NAME=VALUE.
 */
public final class Debezium {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final CountDownLatch STOP = new CountDownLatch(1);
    private static long seen;

    private Debezium() {}

    public static void main(String[] arguments) throws Exception {
        long stopAfter = Long.parseLong(arguments[0]);
        Properties properties = new Properties();
        for (int i = 1; i < arguments.length; i++) {
            int equals = arguments[i].indexOf('=');
            properties.setProperty(arguments[i].substring(0, equals), arguments[i].substring(equals + 1));
        }
        DebeziumEngine<ChangeEvent<String, String>> engine = DebeziumEngine.create(Json.class)
                .using(properties)
                .using(OffsetCommitPolicy.always())
                .using(Debezium::ended)
                .notifying((ChangeEvent<String, String> event) -> {
                    OUT.println("event\t" + event.destination() + "\t" + event.key() + "\t" + event.value());
                    seen++;
                    if (seen == stopAfter) {
                        STOP.countDown();
                    }
                })
                .build();
        Thread running = new Thread(engine, "engine");
        running.start();
        Thread input = new Thread(Debezium::awaitEndOfInput, "input");
        input.setDaemon(true);
        input.start();
        STOP.await();
        engine.close();
        running.join();
    }

    private static void awaitEndOfInput() {
        try {
            while (System.in.read() >= 0) {
                // Whoever started this only ever ends it.
            }
        } catch (IOException error) {
            error.printStackTrace();
        }
        STOP.countDown();
    }

    /** The engine's threads may outlive it; whatever ended it, the process ends. */
    private static void ended(boolean success, String message, Throwable error) {
        if (error != null) {
            error.printStackTrace();
        }
        OUT.println(success ? "ended" : "failed\t" + message);
        Runtime.getRuntime().halt(success ? 0 : 1);
    }
}
