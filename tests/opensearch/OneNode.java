import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.codelibs.opensearch.runner.node.OpenSearchRunnerNode;
import org.opensearch.analysis.common.CommonAnalysisPlugin;
import org.opensearch.common.settings.Settings;
import org.opensearch.env.Environment;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.painless.PainlessPlugin;
import org.opensearch.transport.Netty4Plugin;

/** One node of a test cluster in its own process, so that a test can kill it: OneNode PID HOME key=value ... */
public class OneNode {
    public static void main(String[] args) throws Exception {
        // Exit with the process that started the cluster, even after SIGKILL.
        ProcessHandle.of(Long.parseLong(args[0])).orElseThrow().onExit().thenRun(() -> Runtime.getRuntime().halt(1));
        Path home = Path.of(args[1]);
        for (String folder : List.of("config", "modules", "plugins")) {
            Files.createDirectories(home.resolve(folder));
        }
        Settings.Builder settings = Settings.builder().put("path.home", home.toString());
        for (int i = 2; i < args.length; i++) {
            String[] pair = args[i].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        Environment environment = InternalSettingsPreparer.prepareEnvironment(
            settings.build(), Map.of(), home.resolve("config"), () -> settings.get("node.name"));
        new OpenSearchRunnerNode(environment, List.of(
            CommonAnalysisPlugin.class, PainlessPlugin.class, Netty4Plugin.class)).start();
        Thread.currentThread().join();
    }
}
