// Nodes of BehaviorTree.CPP 4 that ask a memory and tell it how tasks went; no tick of a tree waits for them.
#ifndef ROBOTMEM_ROS__MEMORY_TREES_HPP_
#define ROBOTMEM_ROS__MEMORY_TREES_HPP_

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "behaviortree_cpp/bt_factory.h"
#include "behaviortree_cpp/contrib/json.hpp"
#include "robotmem_ros/memory_client.hpp"

namespace robotmem_ros
{

namespace trees
{

using MemoryPtr = std::shared_ptr<MemoryClient>;

template<class Response>
bool is_ready(const std::future<Response> & answer)
{
  return answer.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
}

inline void warn(const BT::TreeNode & node, const std::exception & error)
{
  RCLCPP_WARN(rclcpp::get_logger("memory_trees"), "%s: %s", node.fullPath().c_str(), error.what());
}

/// The text in a port of a node, empty if it is not given.
/**
 * A JSON object in a port looks like a key of the blackboard to BehaviorTree.CPP, and is taken as it is written.
 */
inline std::string text_in(const BT::TreeNode & node, const std::string & port)
{
  const auto & ports = node.config().input_ports;
  const auto written = ports.find(port);
  if (written != ports.end() && nlohmann::json::accept(written->second)) {
    return written->second;
  }
  return node.getInput<std::string>(port).value_or("");
}

/// The object in a port of a node in JSON, empty if it is not given; throws BT::RuntimeError if it is none.
inline nlohmann::json object_in(const BT::TreeNode & node, const std::string & port)
{
  const auto text = text_in(node, port);
  auto value = nlohmann::json::parse(text.empty() ? "{}" : text, nullptr, false);
  if (!value.is_object()) {
    throw BT::RuntimeError(node.fullPath(), ": port [", port, "] must be a JSON object, but is ", text);
  }
  return value;
}

/// The context of a task, in JSON, with one more entry under `task`.
template<class Value>
std::string with_task(nlohmann::json context, const std::string & key, const Value & value)
{
  auto & task = context["task"];
  if (!task.is_object()) {  // a text is the name of the task
    task = task.is_string() ? nlohmann::json{{"name", task}} : nlohmann::json::object();
  }
  task[key] = value;
  return context.dump();
}

/// Runs until the answer is there; an error of the memory is a failure, and a warning.
template<class Service>
class Asking : public BT::StatefulActionNode
{
public:
  Asking(const std::string & name, const BT::NodeConfig & config, MemoryPtr memory)
  : StatefulActionNode(name, config), memory_(std::move(memory)) {}

  BT::NodeStatus onStart() override
  {
    answer_ = memory_->call<Service>(request());
    return onRunning();
  }

  BT::NodeStatus onRunning() override
  {
    if (!is_ready(answer_)) {
      return BT::NodeStatus::RUNNING;
    }
    try {
      return use(answer_.get());
    } catch (const MemoryError & error) {
      warn(*this, error);
      return BT::NodeStatus::FAILURE;
    }
  }

  void onHalted() override {}

protected:
  virtual typename Service::Request request() = 0;
  virtual BT::NodeStatus use(const typename Service::Response &) {return BT::NodeStatus::SUCCESS;}

  bool is_set(const std::string & port) const {return getInput<bool>(port).value_or(false);}

private:
  MemoryPtr memory_;
  MemoryClient::Answer<Service> answer_;
};

/// Succeed if the memory has something that is relevant.
class IsRemembered : public Asking<srv::Recall>
{
public:
  using Asking::Asking;

  static BT::PortsList providedPorts()
  {
    return {
      BT::InputPort<std::string>("query", "The words to search for"),
      BT::InputPort<std::string>("label", "Label of a perception"),
      BT::InputPort<std::string>("context_filter", "Condition on the context, in JSON"),
      BT::InputPort<bool>("include_unconfirmed", false, "Whether objects count that were seen less often than it takes"),
    };
  }

protected:
  srv::Recall::Request request() override {return with_conditions(srv::Recall::Request().set__n(1));}

  srv::Recall::Request with_conditions(srv::Recall::Request asked) const
  {
    asked.query = text_in(*this, "query");
    asked.context_filter = text_in(*this, "context_filter");
    asked.include_unconfirmed = is_set("include_unconfirmed");
    if (const auto label = text_in(*this, "label"); !label.empty()) {
      asked.labels.push_back(label);
    }
    return asked;
  }

  BT::NodeStatus use(const srv::Recall::Response & found) override
  {
    return found.relevant && !found.memories.empty() ? BT::NodeStatus::SUCCESS : BT::NodeStatus::FAILURE;
  }
};

/// Write the memory that is nearest to the origin of a frame to the blackboard; fail if there is none.
class RecallNearest : public IsRemembered
{
public:
  using IsRemembered::IsRemembered;

  static BT::PortsList providedPorts()
  {
    auto ports = IsRemembered::providedPorts();
    ports.insert(BT::InputPort<std::string>("frame_id", "base_link", "Frame of the robot"));
    ports.insert(BT::OutputPort<geometry_msgs::msg::PoseStamped>("target", "{target}", "Its pose"));
    ports.insert(BT::OutputPort<int64_t>("memory_id", "{memory_id}", "Its id"));
    ports.insert(BT::OutputPort<std::string>("content", "{content}", "What it is"));
    return ports;
  }

protected:
  srv::Recall::Request request() override
  {
    return with_conditions(nearest("", text_in(*this, "frame_id")));
  }

  BT::NodeStatus use(const srv::Recall::Response & found) override
  {
    if (IsRemembered::use(found) != BT::NodeStatus::SUCCESS || found.memories[0].pose_stamped.empty()) {
      return BT::NodeStatus::FAILURE;
    }
    setOutput("target", found.memories[0].pose_stamped[0]);
    setOutput("memory_id", found.memories[0].id);
    setOutput("content", found.memories[0].content);
    return BT::NodeStatus::SUCCESS;
  }
};

/// Run a child for each pose from which a thing can be looked at, best first, until it succeeds; fail if none is left.
class Approach : public BT::DecoratorNode
{
public:
  Approach(const std::string & name, const BT::NodeConfig & config, MemoryPtr memory)
  : DecoratorNode(name, config), memory_(std::move(memory)) {}

  static BT::PortsList providedPorts()
  {
    return {
      BT::InputPort<int64_t>("memory_id", "{memory_id}", "What to look at: a memory with a pose"),
      BT::InputPort<float>("distance", 0.8F, "Metres from it to the centre of the robot"),
      BT::InputPort<float>("radius", 0.3F, "Metres around the centre of the robot that must be free"),
      BT::OutputPort<geometry_msgs::msg::PoseStamped>("goal", "{goal}", "Where the robot is to stand"),
    };
  }

  void halt() override
  {
    answer_ = {};
    poses_.clear();
    DecoratorNode::halt();
  }

protected:
  BT::NodeStatus tick() override
  {
    if (status() == BT::NodeStatus::IDLE) {
      ask();
    }
    if (answer_.valid() && !take_poses()) {
      return BT::NodeStatus::RUNNING;
    }
    for (; next_ < poses_.size(); ++next_) {
      setOutput("goal", poses_[next_]);
      const auto status = child_node_->executeTick();
      if (status == BT::NodeStatus::RUNNING) {
        return status;
      }
      resetChild();
      if (status == BT::NodeStatus::SUCCESS) {
        return status;
      }
    }
    return BT::NodeStatus::FAILURE;
  }

private:
  void ask()
  {
    srv::Approach::Request request;
    request.memory_id = getInput<int64_t>("memory_id").value();
    request.distance = getInput<float>("distance").value();
    request.radius = getInput<float>("radius").value();
    answer_ = memory_->approach(request);
    poses_.clear();
    next_ = 0;
  }

  bool take_poses()
  {
    if (!is_ready(answer_)) {
      return false;
    }
    try {
      const auto found = answer_.get();
      poses_ = found.poses;
      if (poses_.empty()) {
        warn(*this, std::runtime_error(found.reason));
      }
    } catch (const MemoryError & error) {
      warn(*this, error);
    }
    return true;
  }

  MemoryPtr memory_;
  MemoryClient::Answer<srv::Approach> answer_;
  std::vector<geometry_msgs::msg::PoseStamped> poses_;
  std::size_t next_ = 0;
};

/// Learn a fact, in the episode that goes on, if there is one.
class LearnOutcome : public Asking<srv::Learn>
{
public:
  using Asking::Asking;

  static BT::PortsList providedPorts()
  {
    return {
      BT::InputPort<std::string>("insight", "The fact, in a sentence that stands alone"),
      BT::InputPort<bool>("success", true, "Whether it tells a success: task.success of its context"),
      BT::InputPort<std::string>("context", "What else belongs to it, in JSON"),
      BT::InputPort<std::string>("session_id", "{session_id}", "The episode"),
    };
  }

protected:
  srv::Learn::Request request() override
  {
    srv::Learn::Request told;
    told.insight = text_in(*this, "insight");
    told.context = with_task(object_in(*this, "context"), "success", is_set("success"));
    told.session_id = text_in(*this, "session_id");
    return told;
  }
};

/// Make a session of each run of a child: begin it, learn that the child worked or failed, end it with that outcome.
/**
 * The status is that of the child. A memory that does not answer keeps no child from running: it is warned of. An
 * episode that is halted ends without an outcome. The name of the node is that of the task.
 */
class Episode : public BT::DecoratorNode
{
public:
  Episode(const std::string & name, const BT::NodeConfig & config, MemoryPtr memory)
  : DecoratorNode(name, config), memory_(std::move(memory)) {}

  static BT::PortsList providedPorts()
  {
    return {
      BT::InputPort<std::string>("context", "What the episode is about, in JSON"),
      BT::OutputPort<std::string>("session_id", "{session_id}", "The session"),
    };
  }

  void halt() override
  {
    if (step_ == Step::BEGIN) {
      leave();
    } else if (step_ == Step::RUN) {
      end({});
    }
    step_ = Step::NONE;
    DecoratorNode::halt();
  }

protected:
  BT::NodeStatus tick() override
  {
    if (step_ == Step::NONE) {
      begin();
    }
    if (step_ == Step::BEGIN && is_ready(begun_)) {
      session_id_ = told(begun_).session_id;
      setOutput("session_id", session_id_);
      step_ = Step::RUN;
    }
    if (step_ == Step::RUN) {
      outcome_ = child_node_->executeTick();
      if (isStatusCompleted(outcome_)) {
        resetChild();
        learn();
      }
    }
    if (step_ == Step::LEARN && is_ready(learned_)) {
      told(learned_);
      step_ = Step::END;
      end({is_success() ? 1.0F : 0.0F});
    }
    if (step_ == Step::END && (session_id_.empty() || is_ready(ended_))) {
      if (!session_id_.empty()) {
        told(ended_);
      }
      step_ = Step::NONE;
      return outcome_;
    }
    return BT::NodeStatus::RUNNING;
  }

private:
  enum class Step {NONE, BEGIN, RUN, LEARN, END};

  bool is_success() const {return outcome_ == BT::NodeStatus::SUCCESS;}

  void begin()
  {
    context_ = with_task(object_in(*this, "context"), "name", name());
    begun_ = memory_->start_session(srv::StartSession::Request().set__context(context_));
    step_ = Step::BEGIN;
  }

  // End a session that has not begun yet, as soon as it has.
  void leave()
  {
    left_ = std::async(
      std::launch::async, [memory = memory_, begun = std::move(begun_)]() mutable {
        try {
          memory->end_session(srv::EndSession::Request().set__session_id(begun.get().session_id)).get();
        } catch (const MemoryError &) {
          // There is none, or the memory has gone.
        }
      });
  }

  void learn()
  {
    srv::Learn::Request fact;
    fact.insight = name() + (is_success() ? " worked" : " failed");
    fact.context = with_task(nlohmann::json::parse(context_), "success", is_success());
    fact.session_id = session_id_;
    learned_ = memory_->learn(fact);
    step_ = Step::LEARN;
  }

  void end(const std::vector<float> & outcome)
  {
    if (!session_id_.empty()) {
      srv::EndSession::Request request;
      request.session_id = session_id_;
      request.outcome_score.assign(outcome.begin(), outcome.end());
      ended_ = memory_->end_session(request);
    }
  }

  // A response, or an empty one with a warning.
  template<class Response>
  Response told(std::future<Response> & answer) const
  {
    try {
      return answer.get();
    } catch (const MemoryError & error) {
      warn(*this, error);
      return Response();
    }
  }

  MemoryPtr memory_;
  Step step_ = Step::NONE;
  BT::NodeStatus outcome_ = BT::NodeStatus::IDLE;
  std::string context_, session_id_;
  MemoryClient::Answer<srv::StartSession> begun_;
  MemoryClient::Answer<srv::Learn> learned_;
  MemoryClient::Answer<srv::EndSession> ended_;
  std::future<void> left_;
};

/// The client of the node on a blackboard, which all nodes of the tree share.
template<class Node>
MemoryPtr memory_of(BT::Blackboard & blackboard)
{
  MemoryPtr memory;
  if (!blackboard.get("memory_client", memory)) {
    memory = std::make_shared<MemoryClient>(*blackboard.get<std::shared_ptr<Node>>("node"));
    blackboard.set("memory_client", memory);
  }
  return memory;
}

template<class TreeNode, class Node>
void register_lazily(BT::BehaviorTreeFactory & factory, const std::string & id)
{
  factory.registerBuilder<TreeNode>(
    id, [](const std::string & name, const BT::NodeConfig & config) {
      return std::make_unique<TreeNode>(name, config, memory_of<Node>(*config.blackboard->rootBlackboard()));
    });
}

}  // namespace trees

/// Let trees of a factory have the nodes IsRemembered, RecallNearest, Approach, LearnOutcome and Episode.
inline void register_nodes(BT::BehaviorTreeFactory & factory, const trees::MemoryPtr & memory)
{
  factory.registerNodeType<trees::IsRemembered>("IsRemembered", memory);
  factory.registerNodeType<trees::RecallNearest>("RecallNearest", memory);
  factory.registerNodeType<trees::Approach>("Approach", memory);
  factory.registerNodeType<trees::LearnOutcome>("LearnOutcome", memory);
  factory.registerNodeType<trees::Episode>("Episode", memory);
}

/// The same for a plugin of Nav2, whose trees have their node on the blackboard, under `node`.
/**
 * \tparam Node Type of that node: rclcpp::Node up to Kilted.
 */
template<class Node = rclcpp::Node>
void register_nodes(BT::BehaviorTreeFactory & factory)
{
  trees::register_lazily<trees::IsRemembered, Node>(factory, "IsRemembered");
  trees::register_lazily<trees::RecallNearest, Node>(factory, "RecallNearest");
  trees::register_lazily<trees::Approach, Node>(factory, "Approach");
  trees::register_lazily<trees::LearnOutcome, Node>(factory, "LearnOutcome");
  trees::register_lazily<trees::Episode, Node>(factory, "Episode");
}

}  // namespace robotmem_ros

#endif  // ROBOTMEM_ROS__MEMORY_TREES_HPP_
