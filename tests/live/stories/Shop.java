package shop;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** A shop that sends a mail for every order, through one thread, to a mail server that answers slowly. */
public class Shop {
    static final Mailer MAILER = new Mailer();
    static final Map<String, Product> PRODUCTS = new LinkedHashMap<>();

    static class Product {
        final String name;
        final int cents;
        Product(String name, int cents) { this.name = name; this.cents = cents; }
    }

    static class Order {
        final int number;
        final List<Product> products = new ArrayList<>();
        Order(int number) { this.number = number; }
    }

    static class Mail implements Runnable {
        final String to;
        final String text;
        final Order order;
        Mail(Order order) {
            this.order = order;
            to = "customer" + order.number % 200 + "@example.org";
            StringBuilder lines = new StringBuilder("Thank you for order " + order.number + ":\n");
            for (Product product : order.products) lines.append(product.name).append(", ").append(product.cents).append(" cents\n");
            text = lines.toString();
        }
        public void run() { MAILER.smtpSend(this); }
    }

    static class Mailer {
        final ExecutorService pool = new ThreadPoolExecutor(1, 1, 0, TimeUnit.SECONDS, new LinkedBlockingQueue<>(),
            task -> { Thread thread = new Thread(task, "mail-sender"); thread.setDaemon(true); return thread; });
        void send(Order order) { pool.execute(new Mail(order)); }
        void smtpSend(Mail mail) {
            try { Thread.sleep(3_600_000); } catch (InterruptedException e) { Thread.currentThread().interrupt(); }
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 40; i++) PRODUCTS.put("product " + i, new Product("product " + i, 100 + 7 * i));
        List<Product> all = new ArrayList<>(PRODUCTS.values());
        int number = 0;
        for (int goal : new int[] {60, 600}) {
            while (number < goal) {
                Order order = new Order(++number);
                for (int i = 0; i < 1 + number % 4; i++) order.products.add(all.get((number * 7 + i) % all.size()));
                MAILER.send(order);
            }
            System.out.println("ready");
            System.in.read();
        }
    }
}
