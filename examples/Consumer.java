// Reads events from Kafka in Java, each by the schema whose id it carries, from the files in schemas/avro.
//
//   java -cp "$JARS" examples/Consumer.java 127.0.0.1:9092 order.events schemas/avro
//
// JARS: kafka-clients, avro, jackson, slf4j-api; PySpark and `make setup` have brought them.
// It prints what there is, a line of JSON for each event, and ends.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.generic.GenericRecord;
import org.apache.avro.io.DecoderFactory;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Consumer {
    static final int MAGIC = 0, HEAD = 5; // a zero byte and the id, as Confluent's serialisers write

    public static void main(String[] args) throws Exception {
        Map<Integer, Schema> schemas = schemas(Path.of(args[2]));
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", args[0],
            "isolation.level", "read_committed"); // what a transaction has not published is nothing yet
        var bytes = new ByteArrayDeserializer();
        try (var consumer = new KafkaConsumer<>(settings, bytes, bytes)) {
            List<TopicPartition> places = consumer.partitionsFor(args[1]).stream()
                .map(one -> new TopicPartition(one.topic(), one.partition())).toList();
            consumer.assign(places);
            consumer.seekToBeginning(places);
            Map<TopicPartition, Long> ends = consumer.endOffsets(places);
            while (places.stream().anyMatch(one -> consumer.position(one) < ends.get(one))) {
                for (var record : consumer.poll(Duration.ofSeconds(1))) {
                    System.out.println(decoded(record, schemas));
                }
            }
        }
    }

    static GenericRecord decoded(ConsumerRecord<byte[], byte[]> record, Map<Integer, Schema> schemas)
            throws Exception {
        ByteBuffer head = ByteBuffer.wrap(record.value());
        if (head.get() != MAGIC) {
            throw new IllegalArgumentException(record + " is not Avro with a schema's id");
        }
        Schema schema = schemas.get(head.getInt());
        var body = DecoderFactory.get()
            .binaryDecoder(record.value(), HEAD, record.value().length - HEAD, null);
        return new GenericDatumReader<GenericRecord>(schema).read(null, body);
    }

    static Map<Integer, Schema> schemas(Path folder) throws Exception {
        Map<Integer, Schema> found = new HashMap<>();
        for (JsonNode one : new ObjectMapper().readTree(folder.resolve("ids.json").toFile())) {
            var file = folder.resolve(one.get("file").asText()).toFile();
            found.put(one.get("id").asInt(), new Schema.Parser().parse(file));
        }
        return found;
    }
}
