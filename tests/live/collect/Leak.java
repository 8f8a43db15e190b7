import java.util.*;
/** Test target: so many sessions of 1 KiB a second are kept, and a counter of its own loop goes on. usage: Leak PER_SECOND SECONDS */
public class Leak {
    static final class Session { byte[] data = new byte[1000]; }
    static final List<Session> KEEP = new ArrayList<>();
    public static void main(String[] a) throws Exception {
        int rate = Integer.parseInt(a[0]), secs = Integer.parseInt(a[1]);
        System.out.println("READY");
        long start = System.nanoTime(), end = start + secs * 1_000_000_000L, now;
        while ((now = System.nanoTime()) < end) {
            long wanted = (now - start) * rate / 1_000_000_000L;
            while (KEEP.size() < wanted) KEEP.add(new Session());
            Thread.sleep(5);
        }
    }
}
