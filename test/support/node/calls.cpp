// Call a memory node in all ways of memory_client.hpp: test_client_in_cpp.py reads what this prints.
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "robotmem_ros/memory_client.hpp"

using namespace std::chrono_literals;
using robotmem_ros::MemoryClient;
namespace srv = robotmem_ros::srv;

template<class Answer>
void print_error(const char * when, Answer answer)
{
  try {
    answer.get();
  } catch (const robotmem_ros::NoAnswerError & error) {
    std::printf("%s: no answer: %s\n", when, error.what());
  } catch (const robotmem_ros::MemoryError & error) {
    std::printf("%s: %s\n", when, error.what());
  }
}

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  const int memory_node = std::atoi(argv[1]);
  auto node = std::make_shared<rclcpp::Node>("caller");
  print_error("nobody", MemoryClient(*node, "nobody", 100ms).recall(srv::Recall::Request()));
  print_error("of another type", MemoryClient(*node, "old", 5s).recall(srv::Recall::Request()));

  auto memory = std::make_unique<MemoryClient>(*node, "memory", 180s);
  const auto fact = srv::Learn::Request().set__insight("The gate of bay 7 sticks");
  std::printf("learned: %s\n", memory->learn(fact).get().status.c_str());

  rclcpp::executors::SingleThreadedExecutor executor;
  executor.add_node(node);
  bool is_called = false;
  const auto timer = node->create_wall_timer(
    1ms, [&] {
      const auto counts = memory->call<srv::List>(srv::List::Request().set__field("kinds")).get().counts;
      std::printf("in a callback: %zu kind\n", counts.size());
      is_called = true;
    });
  while (!is_called) {
    executor.spin_once();
  }

  std::vector<MemoryClient::Answer<srv::Recall>> answers;
  for (int i = 0; i < 50; ++i) {
    answers.push_back(memory->recall(srv::Recall::Request().set__query("gate")));
  }
  size_t found = 0;
  for (auto & answer : answers) {
    found += answer.get().memories.size();
  }
  std::printf("at once: %zu\n", found);

  print_error("of no kind", memory->call<srv::List>(srv::List::Request().set__field("colors")));
  kill(memory_node, SIGSTOP);
  print_error("stopped", memory->call<srv::Learn>(fact, 500ms));
  auto answer = memory->learn(fact);
  memory.reset();
  print_error("closed", std::move(answer));
  kill(memory_node, SIGCONT);
  MemoryClient another(*node, "/memory", 180s);
  std::printf("learned: %s\n", another.learn(fact).get().status.c_str());
  rclcpp::shutdown();
  print_error("shut down", another.learn(fact));
}
